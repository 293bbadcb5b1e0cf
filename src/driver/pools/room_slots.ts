/** Isolates of a room, at most. */
export const ROOM_SLOTS = 64;
