colossalai run --nproc_per_node 8 --hostfile hosts benchmark.py -c 7b -b 16 --tp 2 --zero 1 -l 4096
