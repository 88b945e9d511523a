;; The inner loops of the embedded vector index. Rows of bytes lie one after another; `dims` is a multiple of 16.
(module
  (memory (export "memory") 1 65536)

  ;; Dot products of one 16-bit query with `count` rows of 8-bit vectors, written as 32-bit integers.
  (func (export "dots") (param $query i32) (param $rows i32) (param $count i32) (param $dims i32) (param $out i32)
    (local $i i32) (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
      (i32.store (local.get $out) (call $dot (local.get $query) (local.get $rows) (local.get $dims)))
      (local.set $rows (i32.add (local.get $rows) (local.get $dims)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br $next))))

  ;; The same for the rows whose numbers are listed at `list`.
  (func (export "dotsAt") (param $query i32) (param $rows i32) (param $list i32) (param $count i32) (param $dims i32) (param $out i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
      (i32.store (local.get $out)
        (call $dot (local.get $query)
          (i32.add (local.get $rows) (i32.mul (i32.load (local.get $list)) (local.get $dims)))
          (local.get $dims)))
      (local.set $list (i32.add (local.get $list) (i32.const 4)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br $next))))

  (func $dot (param $query i32) (param $row i32) (param $dims i32) (result i32)
    (local $end i32) (local $bytes v128) (local $low v128) (local $high v128)
    (local.set $end (i32.add (local.get $row) (local.get $dims)))
    (loop $next
      (local.set $bytes (v128.load (local.get $row)))
      (local.set $low (i32x4.add (local.get $low)
        (i32x4.dot_i16x8_s (v128.load (local.get $query)) (i16x8.extend_low_i8x16_s (local.get $bytes)))))
      (local.set $high (i32x4.add (local.get $high)
        (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $query)) (i16x8.extend_high_i8x16_s (local.get $bytes)))))
      (local.set $query (i32.add (local.get $query) (i32.const 32)))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $row) (local.get $end))))
    (local.set $low (i32x4.add (local.get $low) (local.get $high)))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
      (i32.add (i32x4.extract_lane 2 (local.get $low)) (i32x4.extract_lane 3 (local.get $low)))))

  ;; How many bits differ between the query's and each row's signs; `size` bytes a row, a multiple of 16.
  (func (export "distances") (param $query i32) (param $rows i32) (param $count i32) (param $size i32) (param $out i32)
    (local $end i32) (local $stop i32) (local $at i32) (local $sum v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 1))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
      (local.set $stop (i32.add (local.get $rows) (local.get $size)))
      (local.set $at (local.get $query))
      (local.set $sum (v128.const i64x2 0 0))
      (loop $more
        (local.set $sum (i16x8.add (local.get $sum) (i16x8.extadd_pairwise_i8x16_u
          (i8x16.popcnt (v128.xor (v128.load (local.get $at)) (v128.load (local.get $rows)))))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (local.set $rows (i32.add (local.get $rows) (i32.const 16)))
        (br_if $more (i32.lt_u (local.get $rows) (local.get $stop))))
      (local.set $sum (i32x4.extadd_pairwise_i16x8_u (local.get $sum)))
      (i32.store16 (local.get $out)
        (i32.add
          (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
          (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
      (local.set $out (i32.add (local.get $out) (i32.const 2)))
      (br $next))))
)
