"""The retail and airline domains of tau2-bench, over data that the user has."""
