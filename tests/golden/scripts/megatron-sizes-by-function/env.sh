export DATA=/scratch/data
export TP=8 PP=2
: "${MBS:=4}" "${ACC:=16}"
SEQ=2048 DTYPE=BF16 RECOMPUTE=1
