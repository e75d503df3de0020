"""The same self-play with stable-baselines3: MaskablePPO of sb3-contrib, as an example and to measure against."""
