"""Stored trajectories as rows that TRL's SFT, DPO and KTO trainers take."""
