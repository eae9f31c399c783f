#!/bin/bash
#SBATCH --nodes=16
#SBATCH --gres=gpu:8
cd /fsx/gpt-neox
python ./deepy.py train.py -d configs 3b cluster.yml
