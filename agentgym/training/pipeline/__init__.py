"""The stages of a training: demonstrations, imitation, reinforcement, evaluation, figures."""
