"""People who want to wait for a place, or who wait already."""

from agentgym_tools.clinic.scenarios.callers import Caller
from agentgym_tools.clinic.scenarios.conversation import Conversation
from agentgym_tools.clinic.scenarios.drafting import call
from agentgym_tools.clinic.scenarios.phrases import nth
from agentgym_tools.script import Parts

_POSITION = ("And which place on the list would that be?",)


def _position(talk: Conversation, place: str) -> Parts:
    service = talk.record("waiting", place)["service"]
    same = [(p["added_on"], k) for k, p in talk.state.items("waiting") if p["service"] == service]
    before = [entry for entry in sorted(same) if entry[1] != place]
    mine = next(entry for entry in same if entry[1] == place)
    return (nth(1 + sum(entry < mine for entry in before)),)


def _waits_for_neurology() -> Conversation:
    talk = Conversation("wait-nerves", "train", Caller("P1075"), details=_POSITION)
    says = ("I was referred to the nerve consultation. Please put me on its waiting list.",)
    talk.join("nerve-consultation", says)
    return talk


def _waits_for_one_doctor() -> Conversation:
    talk = Conversation("wait-migraine-pillai", "test", Caller("P1027"), details=_POSITION)
    says = (
        "I come to the migraine clinic today, and afterwards I'd like to be on the waiting list "
        "for another nerve consultation, with Meera Pillai only.",
    )
    talk.join("nerve-consultation", says, who="D24")
    return talk


def _changes_the_list() -> Conversation:
    talk = Conversation("wait-migraine-not-nerves", "test", Caller("P1008"), details=_POSITION)
    talk.join(
        "migraine-clinic",
        ("Sorry, I mean the migraine clinic, not the nerve consultation. Anyone there will do.",),
        before=("I'd like to wait for a nerve consultation. Is there a list for that?",),
    )
    return talk


def _no_need_to_wait() -> Conversation:
    talk = Conversation("no-wait-eye-test", "test", Caller("P1090"), details=_PREPARE)
    wanted = call(
        "join_waiting_list", patient_id="P1090", service_id="eye-test", practitioner_id="D22"
    )
    talk.refuse(
        wanted,
        ("Yuki Tanabe is always booked out. Put me on the waiting list for an eye test there.",),
    )
    slot = talk.first("eye-test", who="D22")
    talk.book(
        "eye-test",
        slot,
        ("Really? I might take that one. What would it be exactly, and what does it cost?",),
    )
    return talk


def _no_need_to_wait_for_a_vaccination() -> Conversation:
    caller = Caller("P1169", by="Esther York")
    talk = Conversation("no-wait-child-vaccination", "train", caller)
    wanted = call("join_waiting_list", patient_id="P1169", service_id="child-vaccination")
    talk.refuse(
        wanted,
        ("Arthur needs a vaccination. I was told there is a waiting list, so put him there.",),
        ("A list is better for us, you could ring when somebody drops out at short notice.",),
    )
    return talk


def _unreferred() -> Conversation:
    talk = Conversation("no-wait-unreferred", "test", Caller("P1143"))
    wanted = call("join_waiting_list", patient_id="P1143", service_id="nerve-consultation")
    talk.refuse(
        wanted,
        ("My hands tingle. I'd like to wait for a place in the nerve consultation.",),
        ("I don't want a visit yet, only to be on the list. That can't need a referral.",),
    )
    return talk


def _gives_up_the_place() -> Conversation:
    talk = Conversation("leave-pressure-list", "train", Caller("P1132", proof="postcode"))
    says = ("I bought a blood pressure monitor myself. Take me off that waiting list, please.",)
    talk.leave("W7008", says)
    return talk


def _gives_up_for_a_child() -> Conversation:
    talk = Conversation("leave-then-book-child", "test", Caller("P1018", by="Alina Murray"))
    says = (
        "I'm fed up with waiting for Farid Rahimi. Take Frank off the list for a consultation.",
    )
    talk.leave("W7016", says)
    slot = talk.first("child-consultation", who="D07", since="2026-03-07")
    says = ("And book him a child consultation with Kofi Mensah, the first one after this week.",)
    talk.book("child-consultation", slot, says)
    return talk


def _asks_for_the_position() -> Conversation:
    talk = Conversation("tell-position", "train", Caller("P1138"))
    looks = (call("list_waiting", patient_id="P1138"),)
    says = ("I wait for a nerve consultation since January. At which place am I by now?",)
    talk.tell(says, _position(talk, "W7019"), looks)
    return talk


def _asks_then_leaves() -> Conversation:
    talk = Conversation("tell-position-then-leave", "test", Caller("P1149"))
    looks = (call("list_waiting", patient_id="P1149"),)
    says = ("How many people are before me on the list for the nerve consultation?",)
    (place,) = _position(talk, "W7030")
    ahead = len([w for _, w in talk.state.items("waiting") if w["service"] == _NERVES]) - 1
    talk.tell(says, ((*place, str(ahead)),), looks)
    talk.leave("W7030", ("That's far too many. Take me off it.",))
    return talk


_NERVES = "nerve-consultation"
_PREPARE = ("Is there anything I have to prepare or bring?",)

SCENARIOS = (
    _waits_for_neurology,
    _waits_for_one_doctor,
    _changes_the_list,
    _no_need_to_wait,
    _no_need_to_wait_for_a_vaccination,
    _unreferred,
    _gives_up_the_place,
    _gives_up_for_a_child,
    _asks_for_the_position,
    _asks_then_leaves,
)
"""Each makes one conversation."""
