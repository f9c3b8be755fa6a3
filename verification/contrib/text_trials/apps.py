from django.apps import AppConfig


class TextTrialsConfig(AppConfig):
    name = "verification.contrib.text_trials"
    label = "text_trials"
    verbose_name = "Trials of texts"

    def ready(self) -> None:
        from verification.contrib.text_trials import draw, trials
        from verification.services.analytics import rollups
        from verification.services.texts import own, rendering

        rendering.ALTERNATIVES.append(draw.tried_text)
        own.REQUIREMENTS.append(trials.require_untried)
        rollups.COUNTERS.append(trials.count)
