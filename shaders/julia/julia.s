; julia.s: a Julia set with smooth bands over a gradient, one thread per pixel.
;
; Target gfx1013, wave32, thread groups of 8 x 8 (two waves), a 2D grid of groups that covers the picture exactly.
; MODE: denormals kept (FLOAT_MODE 0xF0), round to nearest even, IEEE off, DX10_CLAMP on. Only operations with one exact result are
; used (multiply, add, subtract, compare, min, max, integer operations, conversions of small integers), so that the picture is the same
; bit for bit wherever it is computed: no fused multiply-add, no transcendental function.
;
; Inputs
;   s[0:3]  V# of the framebuffer: raw, 4 bytes a pixel (R, G, B, A in memory order)
;   s4      bytes from one row of the framebuffer to the next
;   s5      most iterations before a point counts as inside, at least 1
;   s6, s7  thread group x, y
;   v0, v1  thread x, y inside the group
;
; Registers
;   v2        byte offset of the pixel            v3      height in the picture, 0 at the top to 1 at the bottom
;   v4, v5    z, real and imaginary               v6      iterations done
;   v7, v8    squares of v4, v5                   v9      |z|^2
;   v10, v11  temporaries                         v12-14  red, green, blue, 0..1
;   v15       least |z|^2 of the orbit
;   s8        lanes of the wave                   s9      loop counter
;   s10       lanes whose point never left the circle

        .text
        .globl  julia
        .p2align 8
julia:
        ; Pixel coordinates: group * 8 + thread.
        v_lshl_add_u32  v0, s6, 3, v0
        v_lshl_add_u32  v1, s7, 3, v1

        ; Byte offset = y * pitch + x * 4.
        v_mul_lo_u32    v2, v1, s4
        v_lshl_add_u32  v2, v0, 2, v2

        ; z = ((x - 319.5) * 0.005, (y - 179.5) * 0.005): the picture spans 3.2 by 1.8.
        v_cvt_f32_u32   v4, v0
        v_cvt_f32_u32   v5, v1
        v_mul_f32       v3, 0x3b360b61, v5              ; y / 360
        v_add_f32       v4, 0xc39fc000, v4              ; -319.5
        v_add_f32       v5, 0xc3338000, v5              ; -179.5
        v_mul_f32       v4, 0x3ba3d70a, v4              ; 0.005
        v_mul_f32       v5, 0x3ba3d70a, v5

        ; The gradient under the bands: (0.04 + 0.10 h, 0.02 + 0.09 h, 0.14 + 0.28 h).
        v_mul_f32       v12, 0x3dcccccd, v3             ; 0.10
        v_mul_f32       v13, 0x3db851ec, v3             ; 0.09
        v_mul_f32       v14, 0x3e8f5c29, v3             ; 0.28
        v_add_f32       v12, 0x3d23d70a, v12            ; 0.04
        v_add_f32       v13, 0x3ca3d70a, v13            ; 0.02
        v_add_f32       v14, 0x3e0f5c29, v14            ; 0.14

        ; z := z * z + c until |z|^2 >= 16. A lane that leaves the circle switches itself off and keeps its |z|^2 and its count; the
        ; wave goes on until no lane is left or s5 rounds are done.
        s_mov_b32       s8, exec_lo
        s_mov_b32       s9, 0
        v_mov_b32       v6, 0
        v_mov_b32       v15, 4.0
.Lloop:
        v_mul_f32       v7, v4, v4
        v_mul_f32       v8, v5, v5
        v_add_f32       v9, v7, v8
        v_cmp_gt_f32    vcc_lo, 0x41800000, v9          ; 16 > |z|^2
        s_and_b32       exec_lo, exec_lo, vcc_lo
        s_cbranch_execz .Lleft
        v_min_f32       v15, v15, v9
        v_mul_f32       v10, v4, v5
        v_sub_f32       v4, v7, v8
        v_add_f32       v10, v10, v10
        v_add_f32       v4, 0xbecccccd, v4              ; c = (-0.4,
        v_add_f32       v5, 0x3f19999a, v10             ;      0.6)
        v_add_nc_u32    v6, 1, v6
        s_add_u32       s9, s9, 1
        s_cmp_lt_u32    s9, s5
        s_cbranch_scc1  .Lloop
.Lleft:
        s_mov_b32       s10, exec_lo
        s_andn2_b32     exec_lo, s8, s10
        s_cbranch_execz .Linside

        ; Outside. The fraction of an iteration comes from log2 |z|^2, read off the float's bits (4 at |z|^2 = 16, about 8 one iteration
        ; later): f = 1 - (log2 - 4) / 4, bent by f * (0.66 + 0.34 f) towards the true double logarithm.
        v_add_nc_u32    v10, 0xbe800000, v9             ; minus the bits of 16.0
        v_lshrrev_b32   v10, 3, v10                     ; below 2^24, so that the conversion is exact
        v_cvt_f32_u32   v10, v10
        v_mul_f32       v10, 0x34800000, v10            ; 2^-22
        v_sub_f32       v10, 1.0, v10
        v_max_f32       v10, 0, v10
        v_mul_f32       v11, 0x3eae147b, v10            ; 0.34
        v_add_f32       v11, 0x3f28f5c3, v11            ; 0.66
        v_mul_f32       v10, v10, v11
        v_cvt_f32_u32   v11, v6
        v_add_f32       v10, v10, v11
        v_mul_f32       v10, 0x3d000000, v10            ; t = iterations / 32, at most 1
        v_min_f32       v10, 1.0, v10
        v_sub_f32       v11, 1.0, v10                   ; u = 1 - t

        ; Bands: red += 9 u t t t, green += 15 u u t t, blue += 8.5 u u u t.
        v_mul_f32       v7, v10, v11                    ; u t
        v_mul_f32       v8, v10, v10                    ; t t
        v_mul_f32       v0, v7, v8
        v_mul_f32       v0, 0x41100000, v0              ; 9
        v_add_f32       v12, v12, v0
        v_mul_f32       v0, v7, v7
        v_mul_f32       v0, 0x41700000, v0              ; 15
        v_add_f32       v13, v13, v0
        v_mul_f32       v8, v11, v11
        v_mul_f32       v0, v7, v8
        v_mul_f32       v0, 0x41080000, v0              ; 8.5
        v_add_f32       v14, v14, v0

.Linside:
        s_mov_b32       exec_lo, s10
        s_cbranch_execz .Lstore

        ; Inside: how near to 0 the orbit came, as a glow: red += 0.9 d, green += 0.3 d, blue += 0.15 d.
        v_mul_f32       v10, 0x3f666666, v15            ; 0.9
        v_mul_f32       v11, 0x3e99999a, v15            ; 0.3
        v_mul_f32       v0, 0x3e19999a, v15             ; 0.15
        v_add_f32       v12, v12, v10
        v_add_f32       v13, v13, v11
        v_add_f32       v14, v14, v0

.Lstore:
        s_mov_b32       exec_lo, s8

        ; To 8 bits: min(c, 1) * 255 + 0.5, cut off.
        v_min_f32       v12, 1.0, v12
        v_min_f32       v13, 1.0, v13
        v_min_f32       v14, 1.0, v14
        v_mul_f32       v12, 0x437f0000, v12            ; 255
        v_mul_f32       v13, 0x437f0000, v13
        v_mul_f32       v14, 0x437f0000, v14
        v_add_f32       v12, 0.5, v12
        v_add_f32       v13, 0.5, v13
        v_add_f32       v14, 0.5, v14
        v_cvt_u32_f32   v12, v12
        v_cvt_u32_f32   v13, v13
        v_cvt_u32_f32   v14, v14
        v_lshl_or_b32   v12, v13, 8, v12
        v_lshl_or_b32   v12, v14, 16, v12
        v_or_b32        v12, 0xff000000, v12            ; alpha
        buffer_store_dword v12, v2, s[0:3], 0 offen
        s_endpgm
