# sourced by train.sh: sizes and batch of the GPT models
function gpt_size() {
  local size=$1
  case $size in
    small)  layers=12 dim=768  heads=12 ;;
    medium) layers=24 dim=1024 heads=16 ;;
    xl)     layers=24 dim=2048 heads=16 ;;
    6.7b)   layers=32 dim=4096 heads=32 ;;
    *) echo "unknown size: $size" >&2; return 1 ;;
  esac
}
batch_per_gpu=2
accumulate=4
