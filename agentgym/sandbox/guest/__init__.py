"""The program that is PID 1 in every sandbox, in C: small, static, and at home in any image."""
