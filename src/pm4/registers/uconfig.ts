import type { RegisterRow } from "./row.ts";

const STARTS_DMA = "writing it starts a DMA of the command processor";
const STARTS_SYNC = "writing it starts a cache action of the command processor";

/**
 * UCONFIG bank: the registers that command streams set. Names, offsets and fields are those of AMD's register headers for gfx10
 * (Linux gc_10_1_0_offset.h; Mesa src/amd/registers/gfx10.json). Performance counters are left out.
 */
export const UCONFIG_REGISTERS = [
  [0x03f, "CP_STRMOUT_CNTL", "OFFSET_UPDATE_DONE:0-0"],
  [0x040, "SCRATCH_REG#", "", { count: 8 }],
  [0x059, "CP_APPEND_ADDR_HI", "MEM_ADDR_HI:0-15 CS_PS_SEL:16-16 CACHE_POLICY:25-26 COMMAND:29-31", {
    action: "writing it starts an append count action",
  }],
  [0x07b, "CP_COHER_START_DELAY", "START_DELAY_COUNT:0-5"],
  [0x07c, "CP_COHER_CNTL", "", { action: STARTS_SYNC }],
  [
    0x084,
    "CP_DMA_ME_COMMAND",
    "BYTE_COUNT:0-25 SAS:26-26 DAS:27-27 SAIC:28-28 DAIC:29-29 RAW_WAIT:30-30 DIS_WC:31-31",
    {
      action: STARTS_DMA,
    },
  ],
  [
    0x089,
    "CP_DMA_PFP_COMMAND",
    "BYTE_COUNT:0-25 SAS:26-26 DAS:27-27 SAIC:28-28 DAIC:29-29 RAW_WAIT:30-30 DIS_WC:31-31",
    {
      action: STARTS_DMA,
    },
  ],
  [0x0fe, "CP_ME_COHER_CNTL", "", { action: STARTS_SYNC }],
  [
    0x200,
    "GRBM_GFX_INDEX",
    "INSTANCE_INDEX:0-7 SA_INDEX:8-15 SE_INDEX:16-23 SA_BROADCAST_WRITES:29-29 INSTANCE_BROADCAST_WRITES:30-30 SE_BROADCAST_WRITES:31-31",
  ],
  [0x240, "VGT_ESGS_RING_SIZE_UMD"],
  [0x241, "VGT_GSVS_RING_SIZE_UMD"],
  [0x242, "VGT_PRIMITIVE_TYPE", "PRIM_TYPE:0-5"],
  [0x243, "VGT_INDEX_TYPE", "INDEX_TYPE:0-1"],
  [0x244, "VGT_STRMOUT_BUFFER_FILLED_SIZE_#", "", { count: 4 }],
  [0x249, "GE_MIN_VTX_INDX"],
  [0x24a, "GE_INDX_OFFSET"],
  [0x24b, "GE_MULTI_PRIM_IB_RESET_EN", "RESET_EN:0-0 MATCH_ALL_BITS:1-1"],
  [0x24c, "VGT_NUM_INDICES"],
  [0x24d, "VGT_NUM_INSTANCES"],
  [0x24e, "VGT_TF_RING_SIZE_UMD", "SIZE:0-15"],
  [0x24f, "VGT_HS_OFFCHIP_PARAM_UMD", "OFFCHIP_BUFFERING:0-8 OFFCHIP_GRANULARITY:9-10"],
  [0x250, "VGT_TF_MEMORY_BASE_UMD"],
  [0x251, "GE_DMA_FIRST_INDEX"],
  [0x252, "WD_POS_BUF_BASE"],
  [0x253, "WD_POS_BUF_BASE_HI"],
  [0x254, "WD_CNTL_SB_BUF_BASE"],
  [0x255, "WD_CNTL_SB_BUF_BASE_HI"],
  [0x256, "WD_INDEX_BUF_BASE"],
  [0x257, "WD_INDEX_BUF_BASE_HI"],
  [0x258, "IA_MULTI_VGT_PARAM_PIPED"],
  [0x259, "GE_MAX_VTX_INDX"],
  [0x25a, "VGT_INSTANCE_BASE_ID"],
  [0x25b, "GE_CNTL", "PRIM_GRP_SIZE:0-8 VERT_GRP_SIZE:9-17 BREAK_WAVE_AT_EOI:18-18 PACKET_TO_ONE_PA:19-19"],
  [0x25c, "GE_USER_VGPR1"],
  [0x25d, "GE_USER_VGPR2"],
  [0x25e, "GE_USER_VGPR3"],
  [0x25f, "GE_STEREO_CNTL", "RT_SLICE:0-2 VIEWPORT:3-6 EN_STEREO:8-8"],
  [0x260, "GE_PC_ALLOC", "OVERSUB_EN:0-0 NUM_PC_LINES:1-10"],
  [0x261, "VGT_TF_MEMORY_BASE_HI_UMD"],
  [0x262, "GE_USER_VGPR_EN", "EN_USER_VGPR1:0-0 EN_USER_VGPR2:1-1 EN_USER_VGPR3:2-2"],
  [0x280, "PA_SU_LINE_STIPPLE_VALUE", "LINE_STIPPLE_VALUE:0-23"],
  [0x281, "PA_SC_LINE_STIPPLE_STATE", "CURRENT_PTR:0-3 CURRENT_COUNT:8-15"],
  [0x284, "PA_SC_SCREEN_EXTENT_MIN_0", "X:0-15 Y:16-31"],
  [0x285, "PA_SC_SCREEN_EXTENT_MAX_0", "X:0-15 Y:16-31"],
  [0x286, "PA_SC_SCREEN_EXTENT_MIN_1", "X:0-15 Y:16-31"],
  [0x28b, "PA_SC_SCREEN_EXTENT_MAX_1", "X:0-15 Y:16-31"],
  [0x340, "SQ_THREAD_TRACE_USERDATA_#", "", { count: 8 }],
  [
    0x348,
    "SQC_CACHES",
    "TARGET_INST:0-0 TARGET_DATA:1-1 INVALIDATE:2-2 WRITEBACK:3-3 VOL:4-4 COMPLETE:16-16 L2_WB_POLICY:17-18",
  ],
  [0x349, "SQC_WRITEBACK", "DWB:0-0 DIRTY:1-1"],
  [0x380, "TA_CS_BC_BASE_ADDR"],
  [0x381, "TA_CS_BC_BASE_ADDR_HI", "ADDRESS:0-7"],
] as const satisfies readonly RegisterRow[];
