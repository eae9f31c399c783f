#include "physics/gpu_power.h"
