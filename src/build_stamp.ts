/**
 * What the builder of the executable knows and the source does not.
 *
 * @module
 */

/** Facts of a build. */
export interface BuildStamp {
  /** Git commit that was built, with `+` when files differed from it. */
  readonly commit?: string;
  /** Different for every build that may behave differently. */
  readonly id: string;
  /** SHA-256 of files that are carried along and are no modules, by name. */
  readonly assets: Readonly<Record<string, string>>;
}

/** The bundler puts the stamp in its place; in the source there is no such variable. */
declare const __BUILD_STAMP__: BuildStamp | undefined;

/** The stamp of this build; undefined when this runs from source. */
export const BUILD_STAMP: BuildStamp | undefined = typeof __BUILD_STAMP__ === "undefined" ? undefined : __BUILD_STAMP__;
