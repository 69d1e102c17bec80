"""Common English words of five letters, sorted; written for this game."""

COMMON: tuple[str, ...] = tuple(
    """
about above abuse actor acute admit adobe adopt adult after again agent agile aging agree ahead
aisle alarm album alert alien align alike alive alley allow alloy alone along aloud alpha altar
alter amber amend among ample amuse angel anger angle angry ankle annoy apart apple apply april
apron arena argue arise armor aroma array arrow aside asset atlas attic audio audit avoid await
awake award aware awful bacon badge badly baker basic basil basin basis batch beach beard beast
began begin being belly below bench berry birth black blade blame blank blast blaze bleak blend
bless blind block blond blood bloom board boast bonus boost booth bored bound brain brake brand
brass brave bread break breed brick bride brief bring brisk broad broke brook broom broth brown
brush build built bunch burst buyer cabin cable camel canal candy canoe cargo carol carry carve
catch cause cedar chain chair chalk charm chart chase cheap check cheek cheer chess chest chief
child chill choir chord chunk cider cigar civic civil claim clash class clean clear clerk click
cliff climb clock close cloth cloud clown coach coast cobra cocoa comet comic coral couch cough
could count court cover craft crane crash crawl crazy cream creek crest crime crisp cross crowd
crown crude cruel crust cubic curve cycle daily dairy daisy dance dealt decay delay delta dense
depth devil diary digit diner dirty ditch diver dizzy dodge donor doubt dough dozen draft drain
drama drank drawn dream dress dried drift drill drink drive drown dusty dwarf eager eagle early
earth eight elbow elder elect elite empty enemy enjoy enter entry equal error essay event every
exact exist extra fable faith false fancy fatal fault favor feast fence ferry fetch fever fiber
field fiery fifth fifty fight final first flame flash fleet flesh float flock flood floor flour
fluid flute focus force forge forty forum found frame fraud fresh front frost frown fruit funny
gauge ghost giant given glass gleam glide globe gloom glory glove grace grade grain grand grant
grape graph grasp grass grave great greed green greet grief grill groom group grove grown guard
guess guest guide guild guilt habit happy harsh haste haunt heart heavy hedge hello hence hinge
hobby honey honor horse hotel hound house hover human humid humor hurry ideal image imply index
inner input irony issue ivory jelly jewel joint jolly judge juice juicy jumbo karma kayak kiosk
knife knock known koala label labor lance large laser latch later laugh layer learn lease least
leave ledge legal lemon level lever light lilac limit linen liver local lodge logic loose lorry
lover lower loyal lucky lunar lunch lyric magic major maker mango manor maple march marry marsh
match maybe mayor meant medal media melon mercy merge merit merry metal meter midst might minor
minus mixed model moist money month moral motor mound mount mouse mouth movie muddy music naive
naked nasty naval nerve never niece night noble noise north notch novel nurse nylon oasis ocean
offer often olive onion opera orbit order organ other otter ought ounce outer owner oxide paint
panel panic paper party pasta paste patch pause peace peach pearl pedal penny phase phone photo
piano piece pilot pinch pixel pizza place plain plane plant plate plaza plead point polar porch
pouch pound power press price pride prime print prior prize probe proof proud prove prune pulse
punch pupil purse quack quake queen query quest queue quick quiet quilt quite quota quote radar
radio rainy raise rally ranch range rapid ratio raven razor reach react ready realm rebel refer
relax reply reset rider ridge rifle right rigid risky rival river roast robin robot rocky rough
round route royal rugby ruler rumor rural rusty sadly saint salad salon salty sandy sauce scale
scare scarf scene scent scope score scout scrap screw sense serve seven shade shake shall shame
shape share shark sharp sheep sheet shelf shell shift shine shirt shock shore short shout shown
shrug siege sight silly since siren skate skill skirt skull slate sleep slice slide slope small
smart smell smile smoke snack snake sneak solar solid solve sorry sound south space spade spare
spark speak speed spell spend spice spicy spike spill spine spite split spoil spoke spoon sport
spray squad stack staff stage stain stair stake stale stamp stand stare start state steak steal
steam steel steep steer stern stick stiff still sting stock stone stool storm story stove straw
strip study stuff style sugar suite sunny super surge swamp swarm swear sweat sweep sweet swift
swing sword table taste teach tempo tenth thank theft their theme there thick thief thing think
third thorn those three threw throw thumb tiger tight timer tired title toast today token tooth
topic torch total touch tough towel tower toxic trace track trade trail train trait trash treat
trend trial tribe trick tried troop trout truck truly trunk trust truth tulip tutor twice twist
ultra uncle under union unite unity until upper upset urban usage usual vague valid value valve
vapor vault verse video villa vinyl viral virus visit vital vivid vocal voice voter vowel wagon
waist waste watch water weary weave wedge weigh weird whale wheat wheel where which while whole
widow width windy witch woman world worry worse worst worth would wound wrist write wrong wrote
yacht yearn yeast yield young youth zebra zesty
""".split()
)
