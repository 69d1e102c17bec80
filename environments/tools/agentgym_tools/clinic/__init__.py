"""The clinic: bookings, referrals, bills and prescriptions under a policy with refusals."""
