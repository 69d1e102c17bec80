"""What is the same in every clinic database: the schema and the names questions rely on."""

from agentgym_sql.databases.generate import Row

SCHEMA = """
CREATE TABLE clinics (
    clinic_id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    city VARCHAR(40) NOT NULL,
    opened_on DATE NOT NULL
);
CREATE TABLE departments (
    department_id INTEGER PRIMARY KEY,
    clinic_id INTEGER NOT NULL REFERENCES clinics (clinic_id),
    name VARCHAR(40) NOT NULL,
    budget_cents INTEGER
);
CREATE TABLE doctors (
    doctor_id INTEGER PRIMARY KEY,
    department_id INTEGER NOT NULL REFERENCES departments (department_id),
    supervisor_id INTEGER REFERENCES doctors (doctor_id),
    full_name VARCHAR(60) NOT NULL,
    hired_on DATE NOT NULL,
    salary_cents INTEGER
);
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY,
    full_name VARCHAR(60) NOT NULL,
    birth_date DATE NOT NULL,
    sex VARCHAR(1),
    city VARCHAR(40),
    insurance_plan VARCHAR(20),
    phone VARCHAR(20),
    registered_on DATE NOT NULL
);
CREATE TABLE diagnosis_codes (
    code VARCHAR(8) PRIMARY KEY,
    parent_code VARCHAR(8) REFERENCES diagnosis_codes (code),
    title VARCHAR(60) NOT NULL
);
CREATE TABLE appointments (
    appointment_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patients (patient_id),
    doctor_id INTEGER NOT NULL REFERENCES doctors (doctor_id),
    starts_at DATETIME NOT NULL,
    duration_minutes INTEGER,
    status VARCHAR(12) NOT NULL
);
CREATE TABLE diagnoses (
    diagnosis_id INTEGER PRIMARY KEY,
    appointment_id INTEGER NOT NULL REFERENCES appointments (appointment_id),
    code VARCHAR(8) NOT NULL REFERENCES diagnosis_codes (code),
    is_primary INTEGER NOT NULL
);
CREATE TABLE drugs (
    drug_id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    drug_class VARCHAR(30) NOT NULL,
    pack_size INTEGER NOT NULL,
    unit_price_cents INTEGER NOT NULL,
    is_controlled INTEGER NOT NULL
);
CREATE TABLE prescriptions (
    prescription_id INTEGER PRIMARY KEY,
    appointment_id INTEGER NOT NULL REFERENCES appointments (appointment_id),
    drug_id INTEGER NOT NULL REFERENCES drugs (drug_id),
    quantity INTEGER NOT NULL,
    days_supply INTEGER,
    refills INTEGER NOT NULL
);
CREATE TABLE lab_results (
    lab_result_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patients (patient_id),
    test_name VARCHAR(20) NOT NULL,
    taken_on DATE NOT NULL,
    measured_value INTEGER
);
CREATE TABLE invoices (
    invoice_id INTEGER PRIMARY KEY,
    appointment_id INTEGER NOT NULL REFERENCES appointments (appointment_id),
    issued_on DATE NOT NULL,
    due_on DATE NOT NULL,
    amount_cents INTEGER NOT NULL,
    paid_cents INTEGER NOT NULL,
    paid_on DATE
);
"""

CLINICS: tuple[Row, ...] = (
    (1, "Aldwick Central", "Aldwick", "1998-04-01"),
    (2, "Aldwick Park", "Aldwick", "2011-09-12"),
    (3, "Brenford North", "Brenford", "2003-01-15"),
    (4, "Calder Riverside", "Calder", "2003-01-15"),
    (5, "Dunmore Hill", "Dunmore", "2016-06-30"),
    (6, "Eastholm Bay", "Eastholm", "2021-11-02"),
)

DEPARTMENTS = (
    *("General Medicine", "Cardiology", "Dermatology", "Endocrinology"),
    *("Neurology", "Orthopedics", "Pediatrics"),
)

# Some codes stand below another letter than their own: the tree is in the parents, not in the
# spelling.
CODES: tuple[Row, ...] = (
    ("C", None, "Circulatory diseases"),
    ("C1", "C", "Hypertension"),
    ("C11", "C1", "Essential hypertension"),
    ("C12", "C1", "Secondary hypertension"),
    ("K1", "C12", "Renal hypertension"),
    ("C122", "C12", "Endocrine hypertension"),
    ("C2", "C", "Heart disease"),
    ("C21", "C2", "Angina"),
    ("C22", "C2", "Heart failure"),
    ("C221", "C22", "Left heart failure"),
    ("C222", "C22", "Right heart failure"),
    ("C23", "C2", "Atrial fibrillation"),
    ("D", None, "Skin diseases"),
    ("D1", "D", "Dermatitis"),
    ("D11", "D1", "Atopic dermatitis"),
    ("D12", "D1", "Contact dermatitis"),
    ("D2", "D", "Psoriasis"),
    ("D3", "D", "Acne"),
    ("E", None, "Endocrine diseases"),
    ("E1", "E", "Diabetes"),
    ("E11", "E1", "Type 1 diabetes"),
    ("E12", "E1", "Type 2 diabetes"),
    ("K2", "E12", "Type 2 diabetes with kidney damage"),
    ("E122", "E12", "Type 2 diabetes with eye damage"),
    ("E2", "E", "Thyroid disorders"),
    ("E21", "E2", "Hypothyroidism"),
    ("E22", "E2", "Hyperthyroidism"),
    ("G", None, "Genetic diseases"),
    ("G1", "G", "Cystic fibrosis"),
    ("G2", "G", "Haemophilia"),
    ("M", None, "Musculoskeletal diseases"),
    ("M1", "M", "Arthritis"),
    ("M11", "M1", "Osteoarthritis"),
    ("M111", "M11", "Osteoarthritis of the knee"),
    ("M112", "M11", "Osteoarthritis of the hip"),
    ("M12", "M1", "Rheumatoid arthritis"),
    ("E3", "M1", "Gouty arthritis"),
    ("M2", "M", "Back pain"),
    ("N", None, "Nervous system diseases"),
    ("N1", "N", "Headache"),
    ("N11", "N1", "Migraine"),
    ("N12", "N1", "Tension headache"),
    ("N2", "N", "Epilepsy"),
    ("R", None, "Respiratory diseases"),
    ("R1", "R", "Asthma"),
    ("R11", "R1", "Allergic asthma"),
    ("R2", "R", "Pneumonia"),
)

DRUGS: tuple[Row, ...] = (
    (1, "Amlorin", "antihypertensive", 30, 22, 0),
    (2, "Bisocard", "antihypertensive", 30, 35, 0),
    (3, "Cardipril", "antihypertensive", 28, 18, 0),
    (4, "Valsatone", "antihypertensive", 28, 35, 0),
    (5, "Atorvex", "statin", 30, 41, 0),
    (6, "Rosulin", "statin", 30, 55, 0),
    (7, "Simvaron", "statin", 30, 19, 0),
    (8, "Metfora", "antidiabetic", 60, 12, 0),
    (9, "Glipizan", "antidiabetic", 30, 27, 0),
    (10, "Insulane", "antidiabetic", 5, 1450, 0),
    (11, "Levothyra", "hormone", 50, 15, 0),
    (12, "Carbizol", "hormone", 50, 33, 0),
    (13, "Prednilone", "hormone", 20, 47, 0),
    (14, "Amoxilan", "antibiotic", 21, 38, 0),
    (15, "Doxymed", "antibiotic", 10, 62, 0),
    (16, "Azithra", "antibiotic", 3, 310, 0),
    (17, "Ibuflex", "analgesic", 20, 14, 0),
    (18, "Paramol", "analgesic", 20, 9, 0),
    (19, "Tramadex", "analgesic", 20, 58, 1),
    (20, "Oxynorm", "analgesic", 14, 143, 1),
    (21, "Morfene", "analgesic", 10, 220, 1),
    (22, "Diazelam", "sedative", 10, 31, 1),
    (23, "Zolpitan", "sedative", 10, 44, 1),
    (24, "Sumatriva", "neurological", 6, 390, 0),
    (25, "Lamotrix", "neurological", 56, 61, 0),
    (26, "Salbutor", "respiratory", 1, 850, 0),
    (27, "Budesal", "respiratory", 1, 2150, 0),
    (28, "Cetirel", "antihistamine", 20, 21, 0),
    (29, "Orphazine", "neurological", 10, 9800, 0),
)

TESTS = {
    "cholesterol": (130, 310),
    "creatinine": (45, 180),
    "ferritin": (8, 400),
    "glucose": (65, 260),
}
"""Lowest and highest value by test: mg/dL, umol/L, ng/mL and mg/dL."""
