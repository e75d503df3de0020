"""Fits policies to the games; the only place that imports torch or stable-baselines3's learners."""
