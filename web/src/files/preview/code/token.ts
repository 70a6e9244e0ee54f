/** A part of a line in one colour. */
export interface Token {
  text: string
  /** A CSS colour; undefined for that of the page. */
  color: string | undefined
}
