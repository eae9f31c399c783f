axolotl train train.yml $@
