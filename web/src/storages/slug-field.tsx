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
        label="Name in addresses"
        description="WebDAV clients use it in the address, S3 clients as the bucket."
        value={value}
        onChange={onChange}
        isRequired
        maxLength={63}
        autoComplete="off"
        validate={text =>
          pattern.test(text) ? null : 'Use 3 to 63 lowercase letters without accents, digits, and hyphens between them.'
        }
      />
      {value !== stored && (
        <p className="notice" role="status">
          WebDAV and S3 clients that use “{stored}” will stop working. Change the address in each of them.
        </p>
      )}
    </>
  )
}
