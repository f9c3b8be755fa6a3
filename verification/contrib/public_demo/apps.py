from django.apps import AppConfig


class PublicDemoConfig(AppConfig):
    name = "verification.contrib.public_demo"
    label = "public_demo"
    verbose_name = "Public demo"

    def ready(self) -> None:
        from verification.contrib.public_demo import world
        from verification.models import RIGHTS, Right
        from verification.services.maintenance import demo

        # Whoever is logged in looks, whatever their role. The panel then offers no form and no button that changes. The
        # audit log, which has the network addresses of all visitors, is closed.
        looking = {Right.SEE, Right.SEE_TRAFFIC}
        for role in RIGHTS:
            RIGHTS[role] &= looking
        demo.to_everybody.append(demo.Showing(lead=world.LEAD, messages=world.messages))
