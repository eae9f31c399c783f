#!/bin/bash
accelerate launch --config_file z3.yaml --num_machines 2 --num_processes 16 src/sft.py --config recipe.yaml
