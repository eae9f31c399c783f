#include "physics/silicon.h"

#include <gtest/gtest.h>
