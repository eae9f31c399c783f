set_size() { LAYERS=$1; HIDDEN=$2; HEADS=$3; }
