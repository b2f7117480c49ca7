# Readings: station,time,millimetres,quality. Out: station time centimetres.
BEGIN { FS = "," }
FNR == 1 && $1 == "station" { next }
NF < 4 { next }
$4 != "ok" { next }
{ printf "%s %s %d\n", $1, $2, $3 / 10 }
