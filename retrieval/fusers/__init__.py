"""Fusers, one file each."""
