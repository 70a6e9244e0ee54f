import { urlOf } from '../api/client.ts'
import { texts } from '../texts/storages.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Icon } from '../ui/icons.tsx'
import type { SetupStep } from './config-choices.ts'

/** What people do at the vendor before they fill in the form. */
export function Instructions({ steps, title }: { steps: readonly SetupStep[]; title: string }) {
  if (steps.length === 0) return null
  return (
    <section className="instructions" aria-label={texts.stepsFor(title)}>
      <h2>{texts.stepsFor(title)}</h2>
      <ol>
        {steps.map(({ text, link, showsRedirectAddress }) => (
          <li key={text}>
            <p>{text}</p>
            {showsRedirectAddress && <RedirectAddress />}
            {link && (
              <a href={link.url} target="_blank" rel="noopener noreferrer">
                {link.title}
                <Icon name="external" />
                <span className="visually-hidden"> {texts.inNewTab}</span>
              </a>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

function RedirectAddress() {
  const address = location.origin + urlOf('/webhook/callback')
  return (
    <div className="redirect-address">
      <code className="address">{address}</code>
      <CopyButton text={address} />
    </div>
  )
}
