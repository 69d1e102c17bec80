"""What the clinic offers, and the words its records are made of."""

from agentgym_tools.clinic.records import Department, Service

DEPARTMENTS = tuple(
    Department(
        id=key,
        name=name,
        floor=floor,
        extension=extension,
        minutes=minutes,
        complaints_officer=officer,
        reply_days=days,
    )
    for key, name, floor, extension, minutes, officer, days in (
        ("general", "General practice", 0, "110", 20, "Ruth Adeyemi", 5),
        ("paediatrics", "Paediatrics", 0, "140", 20, "Paul Hartwig", 4),
        ("dermatology", "Dermatology", 1, "215", 20, "Noor Haddad", 7),
        ("cardiology", "Cardiology", 2, "230", 30, "Stefan Brandl", 6),
        ("orthopaedics", "Orthopaedics", 1, "250", 30, "Grace Mbeki", 8),
        ("physiotherapy", "Physiotherapy", 3, "310", 30, "Lucia Moreno", 3),
        ("eye-care", "Eye care", 2, "270", 20, "Henrik Dahl", 9),
        ("neurology", "Neurology", 3, "330", 30, "Priya Nair", 10),
    )
)

_PREPARATION = {
    "gp-checkup": "Eat nothing for 8 hours before.",
    "gp-vaccination": "Bring your vaccination card.",
    "gp-blood-test": "Eat nothing for 10 hours before.",
    "child-checkup": "Bring the child health booklet.",
    "child-vaccination": "Bring your vaccination card.",
    "skin-consultation": "Come without make-up or nail polish.",
    "mole-check": "Wear clothes that are easy to take off.",
    "acne-review": "Bring the products you use.",
    "heart-consultation": "Bring a list of your medicines.",
    "ecg": "No body lotion on the day.",
    "pressure-monitor": "Wear a short-sleeved top.",
    "joint-consultation": "Bring earlier X-ray pictures.",
    "sports-injury": "Bring shorts.",
    "joint-injection": "Do not drive for 6 hours after.",
    "physio-first": "Bring a towel.",
    "physio-session": "Bring a towel.",
    "posture-training": "Wear sports clothes.",
    "eye-test": "Bring your glasses.",
    "pressure-screening": "Leave contact lenses out for 24 hours before.",
    "retina-exam": "Do not drive for 4 hours after.",
    "migraine-clinic": "Bring your headache diary.",
}

SERVICES = tuple(
    Service(
        id=key,
        name=name,
        department=department,
        fee=fee,
        late_fee=late_fee,
        referral=referral,
        min_age=low,
        max_age=high,
        preparation=_PREPARATION.get(key, "Nothing to prepare."),
    )
    for key, name, department, fee, late_fee, referral, low, high in (
        ("gp-consultation", "GP consultation", "general", 45, 20, False, 16, None),
        ("gp-checkup", "Annual check-up", "general", 72, 30, False, 16, None),
        ("gp-vaccination", "Vaccination", "general", 28, 12, False, 16, None),
        ("gp-blood-test", "Blood test", "general", 36, 15, False, 16, None),
        ("child-consultation", "Child consultation", "paediatrics", 40, 18, False, None, 15),
        ("child-checkup", "Child check-up", "paediatrics", 58, 24, False, None, 15),
        ("child-vaccination", "Child vaccination", "paediatrics", 26, 11, False, None, 15),
        ("skin-consultation", "Skin consultation", "dermatology", 84, 35, True, 16, None),
        ("mole-check", "Mole check", "dermatology", 95, 40, True, 16, None),
        ("acne-review", "Acne review", "dermatology", 62, 25, False, 12, None),
        ("heart-consultation", "Heart consultation", "cardiology", 125, 50, True, 16, None),
        ("ecg", "Electrocardiogram", "cardiology", 88, 38, True, 16, None),
        (
            "pressure-monitor",
            "Blood pressure monitor fitting",
            "cardiology",
            54,
            22,
            False,
            18,
            None,
        ),
        ("joint-consultation", "Joint consultation", "orthopaedics", 112, 45, True, 16, None),
        ("sports-injury", "Sports injury clinic", "orthopaedics", 98, 42, False, 14, None),
        ("joint-injection", "Joint injection", "orthopaedics", 134, 55, True, 18, None),
        ("physio-first", "First physiotherapy visit", "physiotherapy", 66, 28, True, 14, None),
        ("physio-session", "Physiotherapy session", "physiotherapy", 52, 21, True, 14, None),
        ("posture-training", "Posture training", "physiotherapy", 34, 14, False, 16, None),
        ("eye-test", "Eye test", "eye-care", 48, 19, False, 6, None),
        ("pressure-screening", "Eye pressure screening", "eye-care", 76, 32, False, 40, None),
        ("retina-exam", "Retina examination", "eye-care", 92, 39, True, 18, None),
        ("nerve-consultation", "Nerve consultation", "neurology", 138, 60, True, 16, None),
        ("migraine-clinic", "Migraine clinic", "neurology", 94, 41, True, 16, None),
    )
)

STAFF = {
    "general": 6,
    "paediatrics": 3,
    "dermatology": 3,
    "cardiology": 3,
    "orthopaedics": 3,
    "physiotherapy": 3,
    "eye-care": 2,
    "neurology": 2,
}
"""How many practitioners each department has."""

SCARCE = ("neurology",)
"""Departments with nothing free in the first weeks."""

MEDICINES = (
    ("Amlodipine 5 mg", False, 18),
    ("Ramipril 2.5 mg", False, 18),
    ("Metformin 500 mg", False, 18),
    ("Levothyroxine 50 micrograms", False, 16),
    ("Atorvastatin 20 mg", False, 18),
    ("Omeprazole 20 mg", False, 16),
    ("Salbutamol inhaler", False, 0),
    ("Cetirizine 10 mg", False, 6),
    ("Sertraline 50 mg", False, 18),
    ("Hydrocortisone cream 1%", False, 0),
    ("Zopiclone 7.5 mg", True, 18),
    ("Tramadol 50 mg", True, 18),
    ("Diazepam 2 mg", True, 18),
    ("Methylphenidate 10 mg", True, 6),
)
"""Name, whether it is controlled, and the age from which it is prescribed."""

LANGUAGES = ("French", "German", "Polish", "Spanish", "Turkish", "Arabic", "Hindi", "Portuguese")

STAFF_NAMES = (
    "Ines Okafor", "Tomas Lindqvist", "Amara Diallo", "Viktor Petrov", "Helen Carver",
    "Samir Qureshi", "Bianca Rossi", "Owen Gallagher", "Yuki Tanabe", "Marta Zielinska",
    "Daniel Osei", "Klara Novak", "Farid Rahimi", "Elsa Bergman", "Hugo Fontaine",
    "Nadia Khoury", "Peter Vance", "Sofia Almeida", "Rafael Ibarra", "Wen Zhao",
    "Julia Sommer", "Kofi Mensah", "Anna Virtanen", "Leon Fischer", "Meera Pillai",
)  # fmt: skip

FIRST_NAMES = (
    "Adam", "Agnes", "Aisha", "Albert", "Alina", "Amelia", "Andre", "Anita", "Arthur", "Beatrice",
    "Ben", "Carla", "Cecilia", "Charles", "Chloe", "Clara", "Colin", "Dana", "David", "Deborah",
    "Dylan", "Edith", "Elena", "Elias", "Emil", "Emma", "Erik", "Esther", "Eva", "Felix",
    "Fiona", "Frank", "Gemma", "George", "Greta", "Hannah", "Harold", "Hilda", "Ian", "Irene",
    "Isaac", "Jack", "Jana", "Jasper", "Joan", "Jonas", "Judith", "Karen", "Kevin", "Lara",
    "Laura", "Leah", "Liam", "Louis", "Lucy", "Magnus", "Maria", "Marcus", "Mia", "Mona",
    "Nathan", "Nina", "Noah", "Olga", "Oliver", "Oscar", "Paula", "Philip", "Rachel", "Ralph",
    "Rosa", "Ruben", "Sarah", "Simon", "Stella", "Theo", "Ursula", "Vera", "Walter", "Zoe",
)  # fmt: skip

LAST_NAMES = (
    "Abbott", "Ahmed", "Archer", "Bailey", "Banks", "Barlow", "Becker", "Blum", "Bowen", "Brandt",
    "Castro", "Chandler", "Cohen", "Cole", "Dalton", "Davies", "Duarte", "Ellis", "Engel", "Farrow",
    "Finch", "Foster", "Garcia", "Gibson", "Grant", "Haas", "Hale", "Hansen", "Hughes", "Hunt",
    "Ivanova", "Jansen", "Jarvis", "Kaya", "Keller", "Kerr", "Kim", "Lange", "Larsen", "Lowe",
    "Marsh", "Meyer", "Mistry", "Moss", "Murray", "Naylor", "Nolan", "Novotny", "Olsen", "Ortega",
    "Page", "Park", "Pratt", "Quinn", "Reyes", "Rhodes", "Sato", "Schwarz", "Shaw", "Silva",
    "Stone", "Tran", "Tucker", "Vogel", "Walsh", "Weber", "Wright", "Yilmaz", "York", "Zimmer",
)  # fmt: skip
