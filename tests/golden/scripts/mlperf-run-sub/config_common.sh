export SEQ_PARALLEL=True
export FP8=${FP8-True}
