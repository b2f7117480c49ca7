# One alarm when the water rises above the level, the next only after it has fallen well below.
BEGIN { calm = 20; wet = 0 }
$3 >= level && !wet { printf "ALARM %s %s %d\n", $1, $2, $3; wet = 1 }
$3 < level - calm { wet = 0 }
