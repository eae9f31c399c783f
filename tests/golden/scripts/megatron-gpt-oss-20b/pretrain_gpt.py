# the training program
