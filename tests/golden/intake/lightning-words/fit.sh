#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
srun python -m own.train fit --config fit.yaml --trainer.num_nodes $SLURM_NNODES --trainer.strategy=deepspeed_stage_2
