#!/bin/bash
#SBATCH --nodes=16
#SBATCH --gres=gpu:8
python ./deepy.py train.py 3b.yml cluster.yml
