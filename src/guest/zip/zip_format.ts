/**
 * The part of the zip format that captures use, as numbers: records and their fields (PKWARE APPNOTE.TXT 6.3.10, sections 4.3 and 4.4). No zip64, no
 * encryption, no data descriptors, one disk.
 */

/** First words of the records. */
export const Signature = { Local: 0x04034B50, Central: 0x02014B50, End: 0x06054B50, Zip64Locator: 0x07064B50 } as const;

/** Bytes of the records' fixed parts. */
export const LOCAL_BYTES = 30;
export const CENTRAL_BYTES = 46;
export const END_BYTES = 22;
export const ZIP64_LOCATOR_BYTES = 20;

/** How an entry's data is stored. */
export const Method = { Stored: 0, Deflated: 8 } as const;

/** Bits of the general purpose flags. */
export const Flag = { Encrypted: 0x0001, DeflateLevel: 0x0006, Descriptor: 0x0008, Utf8: 0x0800 } as const;

/** Version that is needed to extract: 2.0, which is Deflate. */
export const VERSION = 20;

/** 1 January 1980, the earliest date that the format has: what is written must not depend on the clock. */
export const FIXED_DATE = 0x0021;

/** What an archive may ask of its reader. */
export interface ZipLimits {
  /** Entries. */
  entries: number;
  /** Bytes of one entry, unpacked. */
  entryBytes: number;
  /** Bytes of all entries together, unpacked. */
  totalBytes: number;
  /** Unpacked bytes for each packed byte. */
  ratio: number;
}

/**
 * Limits for captures. The sizes are those of every input file, so that a small archive cannot ask for more memory than a large file may. Deflate cannot
 * pack better than 1032 to 1 (258 bytes in 2 bits); whatever claims to is a lie.
 */
export const ZIP_LIMITS: Readonly<ZipLimits> = {
  entries: 16384,
  entryBytes: 1 << 30,
  totalBytes: 1 << 30,
  ratio: 1032,
};

/** Longest name of an entry, in bytes. */
const MAX_NAME_BYTES = 200;

/**
 * What is wrong with an entry's name, or undefined. Names are paths of ASCII letters, digits, `.`, `_`, `-`, parted by `/`; no part is empty or starts with
 * a dot, so none can lead out of a folder or hide in one.
 */
export function entryNameProblem(name: string): string | undefined {
  if (name === "") return "the name is empty";
  if (name.length > MAX_NAME_BYTES) return `the name has ${name.length} bytes; at most ${MAX_NAME_BYTES} are allowed`;
  if (name.startsWith("/")) return "the name is an absolute path";
  if (name.includes("\\")) return "the name has a backslash";
  if (/^[A-Za-z]:/.test(name)) return "the name has a drive letter";
  if (name.split("/").includes("..")) return 'the name leads out of the archive with ".."';
  if (name.endsWith("/")) return "the entry is a folder";
  if (!/^[A-Za-z0-9._/-]*$/.test(name)) return "the name has characters other than letters, digits, and . _ - /";
  if (name.split("/").some((part) => part === "" || part.startsWith("."))) {
    return "a part of the name is empty or starts with a dot";
  }
  return undefined;
}
