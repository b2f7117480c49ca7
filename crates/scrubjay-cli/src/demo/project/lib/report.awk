# Lowest, highest and mean water for each station.
!($1 in count) { low[$1] = $3; high[$1] = $3 }
{ count[$1]++; sum[$1] += $3 }
$3 < low[$1] { low[$1] = $3 }
$3 > high[$1] { high[$1] = $3 }
END { for (s in count) printf "%s %d %d %d\n", s, low[s], high[s], sum[s] / count[s] }
