import { texts } from '../texts/storages.tsx'
import { TextField } from '../ui/field.tsx'

const pattern = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/

/** The name of a storage in the addresses of WebDAV and S3. */
export function SlugField({
  stored,
  value,
  onChange,
}: {
  stored: string
  value: string
  onChange: (slug: string) => void
}) {
  return (
    <>
      <TextField
        label={texts.slug}
        description={texts.slugHelp}
        value={value}
        onChange={onChange}
        isRequired
        maxLength={63}
        autoComplete="off"
        validate={text => (pattern.test(text) ? null : texts.wrongSlug)}
      />
      {value !== stored && (
        <p className="notice" role="status">
          {texts.slugChanges(stored)}
        </p>
      )}
    </>
  )
}
