axolotl train nd.yaml $@
