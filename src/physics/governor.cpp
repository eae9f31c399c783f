#include "physics/governor.h"
