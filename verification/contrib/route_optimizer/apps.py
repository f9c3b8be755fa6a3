from django.apps import AppConfig


class RouteOptimizerConfig(AppConfig):
    name = "verification.contrib.route_optimizer"
    label = "route_optimizer"
    verbose_name = "Route optimizer"

    def ready(self) -> None:
        from verification.contrib.route_optimizer import methods

        methods.register()
