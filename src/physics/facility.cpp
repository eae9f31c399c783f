#include "physics/facility.h"
