python - <<X
import subprocess
subprocess.run("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32", shell=True)
X
