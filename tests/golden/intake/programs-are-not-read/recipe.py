"""Pretrain. Usage: python recipe.py --nodes 12"""
import nemo_run as run
if __name__ == "__main__":
    run.Experiment("proxy")
