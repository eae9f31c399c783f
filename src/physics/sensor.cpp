#include "physics/sensor.h"
