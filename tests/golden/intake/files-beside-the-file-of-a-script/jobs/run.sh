#!/bin/bash
accelerate launch --num_machines 2 --num_processes 16 --mixed_precision bf16 -m axolotl.cli.train cfg.yml
