#include "physics/silicon.h"
