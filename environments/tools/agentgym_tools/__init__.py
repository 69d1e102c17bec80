"""Tool use with users: domains of state, tools and policy, and the people who ask for things."""
