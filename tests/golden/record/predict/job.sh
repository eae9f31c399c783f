# A training program that prints as torchtitan does; every rank does, and a progress bar beside it.
for step in 1 2 3 4 5 6 7 8; do
  stamp="2025-02-25 02:12:$((10 + 2 * step + (step == 7) + (step > 7))),161"
  for rank in 0 1; do
    echo "[rank$rank]:[titan] $stamp - root - INFO - step:  $step  loss:  8.1  memory: 40.12GiB  tps: $((6000 + step))  mfu: 31.7%"
  done
  printf 'step %s\r' $step
done
