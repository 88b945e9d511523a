;; The inner loops of the embedded vector index. A row is `dims` bytes, a multiple of 16, and its tail half as many.
(module
  (memory (export "memory") 1 65536)

  ;; Dot products of one 16-bit query with `count` rows of 8-bit vectors, written as 32-bit integers.
  (func (export "dots") (param $query i32) (param $rows i32) (param $count i32) (param $dims i32) (param $out i32)
    (local $end i32)
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

  ;; Has listed rows, and two numbers of each, come into the processor's cache: they lie far apart, and nothing here
  ;; waits for what is read, so that many are on their way at a time. Gives a sum that is good for nothing.
  (func (export "fetchAt") (param $rows i32) (param $list i32) (param $count i32) (param $dims i32)
    (param $scales i32) (param $owners i32) (result i32)
    (local $end i32) (local $at i32) (local $row i32) (local $stop i32) (local $sum i32)
    (local.set $end (i32.add (local.get $list) (i32.shl (local.get $count) (i32.const 2))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $list) (local.get $end)))
      (local.set $at (i32.load (local.get $list)))
      (local.set $row (i32.add (local.get $rows) (i32.mul (local.get $at) (local.get $dims))))
      (local.set $stop (i32.add (local.get $row) (local.get $dims)))
      (local.set $at (i32.shl (local.get $at) (i32.const 2)))
      (local.set $sum (i32.add (local.get $sum) (i32.add
        (i32.load (i32.add (local.get $scales) (local.get $at)))
        (i32.load (i32.add (local.get $owners) (local.get $at))))))
      (loop $more
        (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $row))))
        (local.set $row (i32.add (local.get $row) (i32.const 64)))
        (br_if $more (i32.lt_u (local.get $row) (local.get $stop))))
      (local.set $list (i32.add (local.get $list) (i32.const 4)))
      (br $next)))
    (local.get $sum))

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

  ;; Dot products of one 32-bit float query with listed rows of 12 bits: a byte, and four bits of its tail. A tail's
  ;; byte holds the four bits of two places that are eight apart.
  (func (export "fineAt") (param $query i32) (param $rows i32) (param $tails i32) (param $list i32) (param $count i32) (param $dims i32) (param $out i32)
    (local $end i32) (local $stop i32) (local $row i32) (local $tail i32) (local $at i32)
    (local $bytes v128) (local $bits v128) (local $sum v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
      (local.set $row (i32.add (local.get $rows) (i32.mul (i32.load (local.get $list)) (local.get $dims))))
      (local.set $tail (i32.add (local.get $tails)
        (i32.mul (i32.load (local.get $list)) (i32.shr_u (local.get $dims) (i32.const 1)))))
      (local.set $stop (i32.add (local.get $row) (local.get $dims)))
      (local.set $at (local.get $query))
      (local.set $sum (v128.const i64x2 0 0))
      (loop $more
        (local.set $bytes (v128.load (local.get $row)))
        (local.set $bits (v128.load64_zero (local.get $tail)))
        (local.set $sum (f32x4.add (local.get $sum) (call $eight (local.get $at)
          (i16x8.extend_low_i8x16_s (local.get $bytes))
          (v128.and (local.get $bits) (v128.const i8x16 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15)))))
        (local.set $sum (f32x4.add (local.get $sum) (call $eight (i32.add (local.get $at) (i32.const 32))
          (i16x8.extend_high_i8x16_s (local.get $bytes))
          (i8x16.shr_u (local.get $bits) (i32.const 4)))))
        (local.set $at (i32.add (local.get $at) (i32.const 64)))
        (local.set $row (i32.add (local.get $row) (i32.const 16)))
        (local.set $tail (i32.add (local.get $tail) (i32.const 8)))
        (br_if $more (i32.lt_u (local.get $row) (local.get $stop))))
      (f32.store (local.get $out)
        (f32.add
          (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
          (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))
      (local.set $list (i32.add (local.get $list) (i32.const 4)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br $next))))

  ;; Eight places: 16 times the byte, plus the bits, which are kept 8 too high.
  (func $eight (param $query i32) (param $bytes v128) (param $bits v128) (result v128)
    (local $steps v128)
    (local.set $steps (i16x8.sub
      (i16x8.add (i16x8.shl (local.get $bytes) (i32.const 4)) (i16x8.extend_low_i8x16_u (local.get $bits)))
      (v128.const i16x8 8 8 8 8 8 8 8 8)))
    (f32x4.add
      (f32x4.mul (v128.load (local.get $query))
        (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $steps))))
      (f32x4.mul (v128.load offset=16 (local.get $query))
        (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $steps))))))

  ;; What each row's product is about, from its signs alone, as 16-bit integers; -32768 where `mask` is 0.
  ;; Signs lie in blocks of 32 rows: first the first byte of each, then the second, and so on. For every four signs
  ;; `tables` has 16 sums of the query's places, at most 63 each, so that four of them fit into a byte. Looking up is
  ;; `relaxed`, which differs only for numbers above 15, and `four` is no constant, which would be loaded anew each time.
  ;; A read some blocks ahead has the next page of memory ready in time. The tables are used up afterwards.
  (func (export "estimates") (param $tables i32) (param $signs i32) (param $blocks i32) (param $size i32) (param $mask i32)
    (param $factors i32) (param $offsets i32) (param $step f32) (param $base f32) (param $out i32)
    (local $end i32) (local $stop i32) (local $table i32) (local $four v128) (local $ahead v128) (local $a v128) (local $b v128)
    (local $first v128) (local $second v128) (local $third v128) (local $fourth v128)
    (local $all v128) (local $odd v128) (local $all2 v128) (local $odd2 v128)
    (local.set $four (i8x16.splat (i32.const 15)))
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $blocks) (i32.const 6))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
      (local.set $stop (i32.add (local.get $signs) (i32.shl (local.get $size) (i32.const 5))))
      (if (v128.any_true (v128.or (v128.load (local.get $mask)) (v128.load offset=16 (local.get $mask))))
        (then
          (local.set $ahead (v128.or (local.get $ahead) (v128.load offset=3072 (local.get $signs))))
          (local.set $table (local.get $tables))
          (local.set $all (v128.const i64x2 0 0))
          (local.set $odd (v128.const i64x2 0 0))
          (local.set $all2 (v128.const i64x2 0 0))
          (local.set $odd2 (v128.const i64x2 0 0))
          ;; Two bytes of signs of all 32 rows.
          (loop $more
            (local.set $first (v128.load (local.get $table)))
            (local.set $second (v128.load offset=16 (local.get $table)))
            (local.set $third (v128.load offset=32 (local.get $table)))
            (local.set $fourth (v128.load offset=48 (local.get $table)))
            (local.set $a (v128.load (local.get $signs)))
            (local.set $b (v128.load offset=32 (local.get $signs)))
            (local.set $a (i8x16.add
              (i8x16.add
                (i8x16.relaxed_swizzle (local.get $first) (v128.and (local.get $a) (local.get $four)))
                (i8x16.relaxed_swizzle (local.get $second)
                  (v128.and (i16x8.shr_u (local.get $a) (i32.const 4)) (local.get $four))))
              (i8x16.add
                (i8x16.relaxed_swizzle (local.get $third) (v128.and (local.get $b) (local.get $four)))
                (i8x16.relaxed_swizzle (local.get $fourth)
                  (v128.and (i16x8.shr_u (local.get $b) (i32.const 4)) (local.get $four))))))
            (local.set $all (i16x8.add (local.get $all) (local.get $a)))
            (local.set $odd (i16x8.add (local.get $odd) (i16x8.shr_u (local.get $a) (i32.const 8))))
            (local.set $a (v128.load offset=16 (local.get $signs)))
            (local.set $b (v128.load offset=48 (local.get $signs)))
            (local.set $a (i8x16.add
              (i8x16.add
                (i8x16.relaxed_swizzle (local.get $first) (v128.and (local.get $a) (local.get $four)))
                (i8x16.relaxed_swizzle (local.get $second)
                  (v128.and (i16x8.shr_u (local.get $a) (i32.const 4)) (local.get $four))))
              (i8x16.add
                (i8x16.relaxed_swizzle (local.get $third) (v128.and (local.get $b) (local.get $four)))
                (i8x16.relaxed_swizzle (local.get $fourth)
                  (v128.and (i16x8.shr_u (local.get $b) (i32.const 4)) (local.get $four))))))
            (local.set $all2 (i16x8.add (local.get $all2) (local.get $a)))
            (local.set $odd2 (i16x8.add (local.get $odd2) (i16x8.shr_u (local.get $a) (i32.const 8))))
            (local.set $table (i32.add (local.get $table) (i32.const 64)))
            (local.set $signs (i32.add (local.get $signs) (i32.const 64)))
            (br_if $more (i32.lt_u (local.get $signs) (local.get $stop))))
          (call $sixteen (local.get $all) (local.get $odd) (local.get $mask) (local.get $factors) (local.get $offsets)
            (local.get $step) (local.get $base) (local.get $out))
          (call $sixteen (local.get $all2) (local.get $odd2)
            (i32.add (local.get $mask) (i32.const 16)) (i32.add (local.get $factors) (i32.const 64))
            (i32.add (local.get $offsets) (i32.const 64))
            (local.get $step) (local.get $base) (i32.add (local.get $out) (i32.const 32))))
        (else
          ;; Most blocks, under a filter that lets few rows through.
          (v128.store (local.get $out) (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768))
          (v128.store offset=16 (local.get $out) (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768))
          (v128.store offset=32 (local.get $out) (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768))
          (v128.store offset=48 (local.get $out) (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768))))
      (local.set $signs (local.get $stop))
      (local.set $mask (i32.add (local.get $mask) (i32.const 32)))
      (local.set $factors (i32.add (local.get $factors) (i32.const 128)))
      (local.set $offsets (i32.add (local.get $offsets) (i32.const 128)))
      (local.set $out (i32.add (local.get $out) (i32.const 64)))
      (br $next)))
    ;; Stored only so that it is read.
    (v128.store (local.get $tables) (local.get $ahead)))

  ;; Sixteen estimates from sums: `odd` has those of every other row, `all` has them too, times 256, beside the others'.
  (func $sixteen (param $all v128) (param $odd v128) (param $mask i32) (param $factors i32) (param $offsets i32)
    (param $step f32) (param $base f32) (param $out i32)
    (local $even v128) (local $low v128) (local $high v128) (local $steps v128) (local $bases v128) (local $bytes v128)
    (local.set $even (i16x8.sub (local.get $all) (i16x8.shl (local.get $odd) (i32.const 8))))
    (local.set $low (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $even) (local.get $odd)))
    (local.set $high (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $even) (local.get $odd)))
    (local.set $steps (f32x4.splat (local.get $step)))
    (local.set $bases (f32x4.splat (local.get $base)))
    (local.set $bytes (v128.load (local.get $mask)))
    (v128.store (local.get $out) (call $masked
      (i16x8.extend_low_i8x16_s (local.get $bytes))
      (call $product (i32x4.extend_low_i16x8_u (local.get $low)) (local.get $steps) (local.get $bases)
        (v128.load (local.get $factors)) (v128.load (local.get $offsets)))
      (call $product (i32x4.extend_high_i16x8_u (local.get $low)) (local.get $steps) (local.get $bases)
        (v128.load offset=16 (local.get $factors)) (v128.load offset=16 (local.get $offsets)))))
    (v128.store offset=16 (local.get $out) (call $masked
      (i16x8.extend_high_i8x16_s (local.get $bytes))
      (call $product (i32x4.extend_low_i16x8_u (local.get $high)) (local.get $steps) (local.get $bases)
        (v128.load offset=32 (local.get $factors)) (v128.load offset=32 (local.get $offsets)))
      (call $product (i32x4.extend_high_i16x8_u (local.get $high)) (local.get $steps) (local.get $bases)
        (v128.load offset=48 (local.get $factors)) (v128.load offset=48 (local.get $offsets))))))

  (func $product (param $sums v128) (param $steps v128) (param $bases v128) (param $factors v128) (param $offsets v128) (result v128)
    (i32x4.trunc_sat_f32x4_s (f32x4.add (local.get $offsets)
      (f32x4.mul (local.get $factors)
        (f32x4.add (local.get $bases) (f32x4.mul (local.get $steps) (f32x4.convert_i32x4_s (local.get $sums))))))))

  (func $masked (param $mask v128) (param $low v128) (param $high v128) (result v128)
    (v128.bitselect
      (i16x8.max_s
        (i16x8.narrow_i32x4_s (local.get $low) (local.get $high))
        (v128.const i16x8 -32767 -32767 -32767 -32767 -32767 -32767 -32767 -32767))
      (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768)
      (local.get $mask)))

  ;; How many of the estimates lie in each of 4096 equal ranges, added to the 32-bit counts at `tally`. Rows that `mask`
  ;; left out are not counted. Eight of every `stride` are looked at; `count` is a multiple of 8.
  (func (export "tally") (param $estimates i32) (param $count i32) (param $stride i32) (param $tally i32)
    (local $end i32) (local $stop i32) (local $at i32) (local $next i32)
    (local.set $end (i32.add (local.get $estimates) (i32.shl (local.get $count) (i32.const 1))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $estimates) (local.get $end)))
      (local.set $stop (i32.add (local.get $estimates) (i32.const 16)))
      (local.set $next (i32.add (local.get $estimates) (i32.shl (local.get $stride) (i32.const 1))))
      (if (v128.any_true (i16x8.ne (v128.load (local.get $estimates))
          (v128.const i16x8 -32768 -32768 -32768 -32768 -32768 -32768 -32768 -32768)))
        (then (loop $one
          (local.set $at (i32.load16_s (local.get $estimates)))
          (if (i32.ne (local.get $at) (i32.const -32768))
            (then
              (local.set $at (i32.add (local.get $tally) (i32.shl
                (i32.shr_u (i32.add (local.get $at) (i32.const 32768)) (i32.const 4))
                (i32.const 2))))
              (i32.store (local.get $at) (i32.add (i32.load (local.get $at)) (i32.const 1)))))
          (local.set $estimates (i32.add (local.get $estimates) (i32.const 2)))
          (br_if $one (i32.lt_u (local.get $estimates) (local.get $stop))))))
      (local.set $estimates (local.get $next))
      (br $next))))

  ;; Lists the rows of `blocks` blocks whose estimate is at least `limit`; gives how many there are.
  (func (export "select") (param $estimates i32) (param $blocks i32) (param $limit i32) (param $list i32) (result i32)
    (local $start i32) (local $row i32) (local $count i32) (local $bits i32) (local $limits v128)
    (local.set $start (local.get $list))
    (local.set $limits (i16x8.splat (local.get $limit)))
    (local.set $count (i32.shl (local.get $blocks) (i32.const 5)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $row) (local.get $count)))
      (local.set $bits (i8x16.bitmask (i8x16.narrow_i16x8_s
        (i16x8.ge_s (v128.load (local.get $estimates)) (local.get $limits))
        (i16x8.ge_s (v128.load offset=16 (local.get $estimates)) (local.get $limits)))))
      (block $none (loop $one
        (br_if $none (i32.eqz (local.get $bits)))
        (i32.store (local.get $list) (i32.add (local.get $row) (i32.ctz (local.get $bits))))
        (local.set $list (i32.add (local.get $list) (i32.const 4)))
        (local.set $bits (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))
        (br $one)))
      (local.set $estimates (i32.add (local.get $estimates) (i32.const 32)))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (br $next)))
    (i32.shr_u (i32.sub (local.get $list) (local.get $start)) (i32.const 2)))
)
