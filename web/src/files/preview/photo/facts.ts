/**
 * Facts about photos. It takes the first bytes of a photo, and returns the facts that a camera has stored there (Exif 3.0, CIPA
 * DC-008).
 */

export interface PhotoFacts {
  /** The time of the camera, which knows no time zone. */
  takenAt: Date | null
  camera: string | null
  lens: string | null
  /** Seconds. */
  exposure: number | null
  aperture: number | null
  sensitivity: number | null
  /** Millimeters. */
  focalLength: number | null
  /** Pixels. */
  width: number | null
  height: number | null
  /** Degrees to the north and to the east. */
  place: { latitude: number; longitude: number } | null
  /** Meters above the sea. */
  altitude: number | null
}

/** Characters of a text. */
const maxText = 100

/** Takes the facts from the tags of a file, in which anything can be. @returns null if there are none */
export function factsOf(tags: Record<string, unknown>): PhotoFacts | null {
  const number = (name: string) => {
    const value = tags[name]
    return typeof value === 'number' && Number.isFinite(value) ? value : null
  }
  const positive = (name: string) => {
    const value = number(name)
    return value !== null && value > 0 ? value : null
  }
  const text = (name: string) => {
    const value = tags[name]
    return typeof value === 'string'
      ? value
          .replace(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, maxText) || null
      : null
  }
  const { DateTimeOriginal: time } = tags
  const [maker, model] = [text('Make'), text('Model')]
  const [latitude, longitude] = [number('latitude'), number('longitude')]
  const isPlace = latitude !== null && longitude !== null && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
  const facts: PhotoFacts = {
    takenAt: time instanceof Date && !Number.isNaN(time.getTime()) ? time : null,
    // Most makers repeat their name in that of the model.
    camera: model && maker && !model.toLowerCase().startsWith(maker.toLowerCase()) ? `${maker} ${model}` : model,
    lens: text('LensModel'),
    exposure: positive('ExposureTime'),
    aperture: positive('FNumber'),
    sensitivity: positive('ISO'),
    focalLength: positive('FocalLength'),
    width: positive('ExifImageWidth'),
    height: positive('ExifImageHeight'),
    place: isPlace ? { latitude, longitude } : null,
    altitude: number('GPSAltitude'),
  }
  return Object.values(facts).some(value => value !== null) ? facts : null
}
