import './kinds.css'

/** A sheet of paper with a corner that is folded. */
const page = 'M6 2h7.2L19 7.8V20a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2z'
const corner = 'M13.2 2v4.3a1.5 1.5 0 0 0 1.5 1.5H19z'
const screen = 'M5 4h14a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z'

/**
 * The drawings of the kinds on a 24 × 24 grid: what is filled with the color of the kind, what is lighter, and the sign on it.
 */
const drawings = {
  document: { back: page, light: corner, sign: 'M7.6 12h7.8M7.6 15h7.8M7.6 18h4.8' },
  sheet: { back: page, light: corner, sign: 'M7.4 11.6h8.2v6.8H7.4zM7.4 15h8.2M11.5 11.6v6.8' },
  slides: { back: page, light: corner, sign: 'M7.2 11.8h8.6v5H7.2zM11.5 16.8v2' },
  pdf: {
    back: page,
    light: corner,
    sign: 'M7.6 18.2c2.6-1.4 4.4-4.4 3.9-6.7-.2-.8-1.3-.7-1.3.2.1 2.6 2.3 4.8 5.4 4.6 1-.1.9-1.3-.2-1.3-2.7-.1-5.3.9-7.3 2.4',
  },
  text: { back: page, light: corner, sign: 'M7.6 12.2h7.8M7.6 15h5.4' },
  code: { back: page, light: corner, sign: 'm9.6 12-2.4 2.7 2.4 2.7M13.4 12l2.4 2.7-2.4 2.7' },
  archive: {
    back: page,
    light: corner,
    sign: 'M9.6 3.2v1.6M11.4 4.8v1.6M9.6 6.4V8M11.4 8v1.6M9.6 9.6v1.6M9 13.4h3v3.8H9z',
  },
  book: {
    back: 'M6.5 2H19a1 1 0 0 1 1 1v18a1 1 0 0 1-1 1H6.5A2.5 2.5 0 0 1 4 19.5v-15A2.5 2.5 0 0 1 6.5 2z',
    light: 'M6.5 17.5H20V21a1 1 0 0 1-1 1H6.5a2.25 2.25 0 0 1 0-4.5z',
    sign: 'M8.5 6.5h7M8.5 9.5h4.5',
  },
  font: { back: page, light: corner, sign: 'm7.6 18.2 3.9-8 3.9 8M9 15.6h5' },
  design: {
    back: page,
    light: corner,
    sign: 'M11.5 18.4a3.4 3.4 0 0 0 3.4-3.4c0-2-3.4-5.2-3.4-5.2S8.1 13 8.1 15a3.4 3.4 0 0 0 3.4 3.4z',
  },
  image: {
    back: screen,
    light: 'M3 17.2 8.2 12l4 4 3-3L21 18.7A2 2 0 0 1 19 20H5a2 2 0 0 1-2-2z',
    sign: 'M15.5 8.5h.01',
  },
  video: {
    back: screen,
    light: 'M3 6a2 2 0 0 1 2-2h1.5v16H5a2 2 0 0 1-2-2zM17.5 4H19a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-1.5z',
    sign: 'M10.3 9v6l4.7-3z',
  },
  audio: {
    back: page,
    light: corner,
    sign: 'M10 17.3v-5.6l4.6-1v5.4M10 17.3a1.3 1.3 0 1 1-2.6 0 1.3 1.3 0 0 1 2.6 0zM14.6 16.1a1.3 1.3 0 1 1-2.6 0 1.3 1.3 0 0 1 2.6 0z',
  },
  other: { back: page, light: corner, sign: '' },
  folder: {
    back: 'M4.5 4h4.4c.5 0 1 .2 1.4.6L12 6.3h7.5a2 2 0 0 1 2 2V18a2 2 0 0 1-2 2h-15a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z',
    light: 'M2.5 10.5a1.7 1.7 0 0 1 1.7-1.7h15.6a1.7 1.7 0 0 1 1.7 1.7V18a2 2 0 0 1-2 2h-15a2 2 0 0 1-2-2z',
    sign: '',
  },
} as const

export type FileKind = keyof typeof drawings

/** The kinds, for the page that shows all of them. */
export const fileKinds = Object.keys(drawings) as FileKind[]

/** A filled icon in the color of a kind of files. It is decorative, as all icons. */
export function KindIcon({ kind }: { kind: FileKind }) {
  const { back, light, sign } = drawings[kind]
  return (
    <svg className={`kind kind-${kind}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={back} />
      <path className="kind-light" d={light} />
      {sign !== '' && <path className="kind-sign" d={sign} />}
    </svg>
  )
}
