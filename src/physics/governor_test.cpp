#include "physics/governor.h"

#include <gtest/gtest.h>
